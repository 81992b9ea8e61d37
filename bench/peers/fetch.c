/* The floor of a small read: a question of 64 bytes, an answer of as many as are asked for.
 *
 *   fetch serve PORT                   answers one client
 *   fetch ask HOST PORT BYTES SECONDS  prints how many answers of BYTES came in a second, one after another
 *
 * One connection, blocking calls, TCP_NODELAY. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { QUESTION = 64, MOST = 1 << 20 };

static char bytes[MOST];

static void die(const char *what) {
    perror(what);
    exit(1);
}

/* Whether as many came; none at the end of the stream. */
static int take(int fd, size_t left) {
    while (left > 0) {
        ssize_t n = recv(fd, bytes, left, MSG_WAITALL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            die("recv");
        if (n == 0)
            return 0;
        left -= (size_t)n;
    }
    return 1;
}

static void give(int fd, size_t left) {
    while (left > 0) {
        ssize_t n = send(fd, bytes, left, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            die("send");
        left -= (size_t)n;
    }
}

static void at_once(int fd) {
    int on = 1;
    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) < 0)
        die("TCP_NODELAY");
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void serve(struct sockaddr_in at) {
    int on = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    at.sin_addr.s_addr = htonl(INADDR_ANY);
    if (bind(listener, (struct sockaddr *)&at, sizeof at) < 0 || listen(listener, 1) < 0)
        die("listen");
    int fd = accept(listener, NULL, NULL);
    if (fd < 0)
        die("accept");
    at_once(fd);
    while (take(fd, QUESTION)) {
        unsigned wanted;
        memcpy(&wanted, bytes, sizeof wanted);
        give(fd, wanted <= MOST ? wanted : MOST);
    }
}

int main(int argc, char **argv) {
    struct sockaddr_in at = {.sin_family = AF_INET};
    if (argc == 3 && strcmp(argv[1], "serve") == 0) {
        at.sin_port = htons((unsigned short)atoi(argv[2]));
        serve(at);
        return 0;
    }
    if (argc != 6 || inet_pton(AF_INET, argv[2], &at.sin_addr) != 1)
        return 2;
    at.sin_port = htons((unsigned short)atoi(argv[3]));
    unsigned wanted = (unsigned)atoi(argv[4]);
    double seconds = atof(argv[5]);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&at, sizeof at) < 0)
        die("connect");
    at_once(fd);
    double began = now(), took;
    long count = 0;
    do {
        memcpy(bytes, &wanted, sizeof wanted);
        give(fd, QUESTION);
        if (!take(fd, wanted))
            die("answer");
        count++;
        took = now() - began;
    } while (took < seconds);
    printf("%.1f\n", (double)count / took);
    return 0;
}
