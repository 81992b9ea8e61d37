/* The floor: a chain of bare read-write-write relays with no check of any kind.
 *
 *   relay head FILE NEXT PORT     reads FILE, sends it to NEXT
 *   relay node FILE NEXT PORT     listens on PORT, writes FILE, sends on to NEXT ("-" for the last)
 *
 * Reads of 256 KiB, blocking calls, one thread. A node ends when the next one has closed, so the
 * head's end means that every node has the whole file. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BLOCK = 256 * 1024, TRIES = 10000 };

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

int main(int argc, char **argv) {
    static char block[BLOCK];
    if (argc != 5)
        return 2;
    int head = strcmp(argv[1], "head") == 0, last = strcmp(argv[3], "-") == 0;
    int down = -1, file, from;
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
    for (;;) {
        ssize_t n = read(from, block, BLOCK);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            die("read");
        if (n == 0)
            break;
        if (down >= 0)
            put(down, block, (size_t)n);
        if (!head)
            put(file, block, (size_t)n);
    }
    if (down >= 0) {
        shutdown(down, SHUT_WR);
        while (read(down, block, BLOCK) > 0)
            ;
    }
    return close(file) < 0;
}
