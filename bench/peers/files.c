/* files COUNT SIZE THREADS WAY: the limit of a file system for many small files. Makes COUNT
 * files of SIZE bytes in each of the folders that standard input names (one a line), 100 a folder below
 * it, by THREADS threads in all; prints the seconds that took. WAY is how a file appears: `rename`
 * (written under another name first), `link` (written without a name), `plain` (not whole at once). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PER_FOLDER = 100, TOPS_MAX = 64 };

static char tops[TOPS_MAX][4096];
static int top_count, count, size;
static const char *way;
static char *bytes;
static atomic_int next;

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void make(int folder, const char *name)
{
    char hidden[64];
    int fd;
    struct timespec times[2] = {{0, UTIME_OMIT}, {1000000000, 0}};

    snprintf(hidden, sizeof hidden, ".%s.0123456789ab.part", name);
    if (strcmp(way, "link") == 0)
        fd = openat(folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0644);
    else
        fd = openat(folder, strcmp(way, "plain") == 0 ? name : hidden,
                    O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0644);
    if (fd < 0)
        die("open");
    if (pwrite(fd, bytes, size, 0) != size)
        die("write");
    if (futimens(fd, times) < 0)
        die("times");
    if (strcmp(way, "link") == 0 && linkat(fd, "", folder, name, AT_EMPTY_PATH) < 0)
        die("link");
    if (strcmp(way, "rename") == 0 && renameat(folder, hidden, folder, name) < 0)
        die("rename");
    close(fd);
}

static void *work(void *unused)
{
    int per_top = (count + PER_FOLDER - 1) / PER_FOLDER;
    for (;;) {
        int job = atomic_fetch_add(&next, 1);
        int top = job % top_count, number = job / top_count;
        char path[4200], name[32];
        int folder;
        if (number >= per_top)
            return unused;
        snprintf(path, sizeof path, "%s/%d", tops[top], number);
        if (mkdir(path, 0755) < 0 || (folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
            die(path);
        for (int at = number * PER_FOLDER; at < count && at < (number + 1) * PER_FOLDER; at++) {
            snprintf(name, sizeof name, "%d", at);
            make(folder, name);
        }
        close(folder);
    }
}

int main(int argc, char **argv)
{
    struct timespec begin, end;
    pthread_t threads[64];

    if (argc != 5)
        return 2;
    count = atoi(argv[1]);
    size = atoi(argv[2]);
    int thread_count = atoi(argv[3]);
    way = argv[4];
    while (top_count < TOPS_MAX && fgets(tops[top_count], sizeof tops[0], stdin)) {
        tops[top_count][strcspn(tops[top_count], "\n")] = 0;
        top_count++;
    }
    if (top_count == 0 || thread_count < 1 || thread_count > 64)
        return 2;
    bytes = malloc(size + 1);
    memset(bytes, 'x', size + 1);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int at = 0; at < thread_count; at++)
        if (pthread_create(&threads[at], NULL, work, NULL) != 0)
            die("thread");
    for (int at = 0; at < thread_count; at++)
        pthread_join(threads[at], NULL);
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("%.6f\n", end.tv_sec - begin.tv_sec + (end.tv_nsec - begin.tv_nsec) / 1e9);
    return 0;
}
