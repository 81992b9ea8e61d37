/* A file to all ranks by MPI_Bcast in pieces of 1 MiB.
 *
 *   mpirun ... bcast SOURCE DIRECTORY     rank 0 reads SOURCE, rank i writes DIRECTORY/n<i>/copy */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 1024 * 1024 };

int main(int argc, char **argv) {
    static char piece[PIECE];
    char path[4096];
    long long length = 0;
    int rank, file;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 3)
        MPI_Abort(MPI_COMM_WORLD, 2);
    if (rank == 0) {
        struct stat about;
        file = open(argv[1], O_RDONLY);
        if (file < 0 || fstat(file, &about) < 0)
            MPI_Abort(MPI_COMM_WORLD, 1);
        length = about.st_size;
    } else {
        snprintf(path, sizeof path, "%s/n%d/copy", argv[2], rank);
        file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
        if (file < 0)
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Bcast(&length, 1, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
    for (long long done = 0; done < length;) {
        int n = length - done < PIECE ? (int)(length - done) : PIECE;
        if (rank == 0 && read(file, piece, n) != n)
            MPI_Abort(MPI_COMM_WORLD, 1);
        MPI_Bcast(piece, n, MPI_BYTE, 0, MPI_COMM_WORLD);
        if (rank != 0 && write(file, piece, n) != n)
            MPI_Abort(MPI_COMM_WORLD, 1);
        done += n;
    }
    if (close(file) < 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}
