/* Keeps a virtual machine's memory warm: pins one page in every free 2 MiB block.
 *
 * With free page reporting a block that stays free for some seconds goes back to the host, and the
 * next touch costs two CPU seconds per GiB. Only whole blocks are given back, so one pinned page a
 * block stops it. The price, the same for every tool: no huge pages.
 *
 *   warm BLOCKS     pins that many, writes "pinned <n>" and keeps them until standard input ends */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SMALL = 4096, HUGE_BLOCK = 2 * 1024 * 1024 };

int main(int argc, char **argv) {
    size_t blocks = argc > 1 ? strtoull(argv[1], NULL, 10) : 0, pinned = 0;
    size_t length = (blocks + 1) * HUGE_BLOCK;
    char *area = mmap(NULL, length, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (area == MAP_FAILED) {
        perror("mmap");
        return 1;
    }
    char *block = (char *)(((size_t)area + HUGE_BLOCK - 1) & ~(size_t)(HUGE_BLOCK - 1));
    for (; pinned < blocks; pinned++, block += HUGE_BLOCK) {
        /* A huge page is a whole physical block; what is kept of it breaks that block for good. */
        if (madvise(block, HUGE_BLOCK, MADV_HUGEPAGE) < 0)
            break;
        memset(block, 1, HUGE_BLOCK);
        /* Ageing a part of a huge page is what splits it at once; without, all of it stays ours. */
        if (madvise(block + SMALL, HUGE_BLOCK - SMALL, MADV_COLD) < 0 ||
            madvise(block + SMALL, HUGE_BLOCK - SMALL, MADV_DONTNEED) < 0 ||
            madvise(block, HUGE_BLOCK, MADV_NOHUGEPAGE) < 0 || mlock(block, SMALL) < 0)
            break;
    }
    printf("pinned %zu\n", pinned);
    fflush(stdout);
    char byte;
    while (read(0, &byte, 1) > 0)
        ;
    return 0;
}
