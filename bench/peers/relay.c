/* The floor: a chain of bare relays with no check of any kind.
 *
 *   relay head FILE NEXT PORT [HOW]     reads FILE, sends it to NEXT
 *   relay node FILE NEXT PORT [HOW]     listens on PORT, writes FILE, sends on to NEXT ("-" for the last)
 *
 * HOW is one of:
 *   plain    reads and writes of 256 KiB, blocking calls, one thread (the default)
 *   threads  the same, but a second thread sends to NEXT what the first has read and written
 *   splice   the bytes stay in the kernel: sendfile(2), tee(2), splice(2)
 *
 * A node ends when the next one has closed, so the head's end means that every node has the whole file. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BLOCK = 256 * 1024, BLOCKS = 16, PIPE = 1024 * 1024, TRIES = 10000 };

static void die(const char *what) {
    perror(what);
    exit(1);
}

static void put(int fd, const char *from, size_t left) {
    while (left > 0) {
        ssize_t n = write(fd, from, left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            die("write");
        from += n;
        left -= (size_t)n;
    }
}

static int next_node(const char *host, const char *port) {
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *to;
    if (getaddrinfo(host, port, &hints, &to) != 0)
        die("address");
    for (int i = 0; i < TRIES; i++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (fd < 0)
            die("socket");
        if (connect(fd, to->ai_addr, to->ai_addrlen) == 0)
            return fd;
        close(fd);
        usleep(1000);
    }
    die("connect");
    return -1;
}

static int previous_node(const char *port) {
    struct sockaddr_in me = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(port))};
    int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (struct sockaddr *)&me, sizeof me) < 0 || listen(fd, 1) < 0)
        die("listen");
    int up = accept(fd, NULL, NULL);
    if (up < 0)
        die("accept");
    close(fd);
    return up;
}

/* What a node reads from, and what it writes to; -1 for none. */
static int from, file, down;

static ssize_t get(char *block) {
    for (;;) {
        ssize_t n = read(from, block, BLOCK);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            die("read");
        return n;
    }
}

static void plain(int head) {
    static char block[BLOCK];
    ssize_t n;
    while ((n = get(block)) > 0) {
        if (down >= 0)
            put(down, block, (size_t)n);
        if (!head)
            put(file, block, (size_t)n);
    }
}

/* A ring of blocks between two threads; a block of no bytes is the end. */
static char ring[BLOCKS][BLOCK];
static ssize_t length[BLOCKS];
static unsigned filled, sent;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void *send_all(void *unused) {
    for (unsigned at = 0;; at++) {
        pthread_mutex_lock(&lock);
        while (filled == at)
            pthread_cond_wait(&changed, &lock);
        pthread_mutex_unlock(&lock);
        if (length[at % BLOCKS] == 0)
            return unused;
        put(down, ring[at % BLOCKS], (size_t)length[at % BLOCKS]);
        pthread_mutex_lock(&lock);
        sent = at + 1;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&lock);
    }
}

static void threads(int head) {
    pthread_t sender;
    if (pthread_create(&sender, NULL, send_all, NULL) != 0)
        die("thread");
    ssize_t n;
    for (unsigned at = 0;; at++) {
        pthread_mutex_lock(&lock);
        while (at - sent == BLOCKS)
            pthread_cond_wait(&changed, &lock);
        pthread_mutex_unlock(&lock);
        n = length[at % BLOCKS] = get(ring[at % BLOCKS]);
        pthread_mutex_lock(&lock);
        filled = at + 1;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&lock);
        if (n == 0)
            break;
        /* The block is only read by the other thread until this one fills it again. */
        if (!head)
            put(file, ring[at % BLOCKS], (size_t)n);
    }
    pthread_join(sender, NULL);
}

static void move(int a, int b, size_t left) {
    while (left > 0) {
        ssize_t n = splice(a, NULL, b, NULL, left, SPLICE_F_MOVE);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            die("splice");
        left -= (size_t)n;
    }
}

static void spliced(int head) {
    ssize_t n;
    if (head) {
        while ((n = sendfile(down, file, NULL, PIPE)) > 0)
            ;
        if (n < 0)
            die("sendfile");
        return;
    }
    int in[2], copy[2];
    if (pipe(in) < 0 || pipe(copy) < 0)
        die("pipe");
    fcntl(in[0], F_SETPIPE_SZ, PIPE);
    fcntl(copy[0], F_SETPIPE_SZ, PIPE);
    for (;;) {
        n = splice(from, NULL, in[1], NULL, PIPE, SPLICE_F_MOVE);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            die("splice");
        if (n == 0)
            return;
        /* tee() copies at most what the other pipe has room for, and it is empty here. */
        for (size_t left = (size_t)n; down >= 0 && left > 0;) {
            ssize_t same = tee(in[0], copy[1], left, 0);
            if (same <= 0)
                die("tee");
            move(copy[0], down, (size_t)same);
            move(in[0], file, (size_t)same);
            left -= (size_t)same;
        }
        if (down < 0)
            move(in[0], file, (size_t)n);
    }
}

int main(int argc, char **argv) {
    if (argc != 5 && argc != 6)
        return 2;
    const char *how = argc == 6 ? argv[5] : "plain";
    int head = strcmp(argv[1], "head") == 0, last = strcmp(argv[3], "-") == 0;
    down = -1;
    if (head) {
        from = file = open(argv[2], O_RDONLY);
        down = next_node(argv[3], argv[4]);
    } else {
        file = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0644);
        from = previous_node(argv[4]);
        if (!last)
            down = next_node(argv[3], argv[4]);
    }
    if (file < 0)
        die(argv[2]);
    if (strcmp(how, "splice") == 0)
        spliced(head);
    else if (strcmp(how, "threads") == 0 && down >= 0)
        threads(head);
    else
        plain(head);
    if (down >= 0) {
        static char rest[BLOCK];
        shutdown(down, SHUT_WR);
        while (read(down, rest, BLOCK) > 0)
            ;
    }
    return close(file) < 0;
}
