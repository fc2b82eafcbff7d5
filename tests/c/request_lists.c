/* Waiting and testing for any, some and all of a list, with null requests in it; each request ends once.
 *
 * ranks: 2 4
 * memcheck: yes */
#include "check.h"

enum { COUNT = 12 };

static int in[COUNT], right, left;
static MPI_Request requests[COUNT];

static void post(int tag)
{
    for (int i = 0; i < COUNT; i++) {
        in[i] = -1;
        requests[i] = MPI_REQUEST_NULL;
        if (i % 3 != 2)
            OK(MPI_Irecv(&in[i], 1, MPI_INT, left, tag + i, MPI_COMM_WORLD, &requests[i]));
    }
}

static void send(int tag)
{
    for (int i = COUNT - 1; i >= 0; i--)
        if (i % 3 != 2) {
            int value = tag + i;
            OK(MPI_Send(&value, 1, MPI_INT, right, tag + i, MPI_COMM_WORLD));
        }
}

static void all_there(int tag)
{
    for (int i = 0; i < COUNT; i++) {
        CHECK_AT(in, i, i % 3 == 2 ? -1 : tag + i);
        CHECK(requests[i] == MPI_REQUEST_NULL);
    }
}

static void any(int tag, int waits)
{
    int ended[COUNT] = {0}, index = -1, flag = 1;
    MPI_Status status;
    post(tag);
    if (!waits) {
        OK(MPI_Testany(COUNT, requests, &index, &flag, &status));
        CHECK(!flag && index == MPI_UNDEFINED);
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    send(tag);
    for (int n = 0; n < COUNT / 3 * 2;) {
        if (waits)
            OK(MPI_Waitany(COUNT, requests, &index, &status));
        else
            OK(MPI_Testany(COUNT, requests, &index, &flag, &status));
        if (!flag)
            continue;
        CHECK(index >= 0 && index < COUNT);
        CHECK_EQ(status.MPI_TAG, tag + index);
        CHECK_EQ(status.MPI_SOURCE, left);
        ended[index]++;
        n++;
    }
    for (int i = 0; i < COUNT; i++)
        CHECK_AT(ended, i, i % 3 != 2);
    all_there(tag);
    if (waits) {
        OK(MPI_Waitany(COUNT, requests, &index, &status));
    } else {
        OK(MPI_Testany(COUNT, requests, &index, &flag, &status));
        CHECK(flag);
    }
    CHECK_EQ(index, MPI_UNDEFINED);
}

static void some(int tag, int waits)
{
    int ended[COUNT] = {0}, indices[COUNT], count = -1;
    MPI_Status statuses[COUNT];
    post(tag);
    OK(MPI_Testsome(COUNT, requests, &count, indices, statuses));
    CHECK_EQ(count, 0);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    send(tag);
    for (int n = 0; n < COUNT / 3 * 2; n += count) {
        if (waits)
            OK(MPI_Waitsome(COUNT, requests, &count, indices, statuses));
        else
            OK(MPI_Testsome(COUNT, requests, &count, indices, statuses));
        CHECK(count != MPI_UNDEFINED && count >= waits);
        for (int i = 0; i < count; i++) {
            CHECK_EQ(statuses[i].MPI_TAG, tag + indices[i]);
            ended[indices[i]]++;
        }
    }
    for (int i = 0; i < COUNT; i++)
        CHECK_AT(ended, i, i % 3 != 2);
    all_there(tag);
    OK(MPI_Waitsome(COUNT, requests, &count, indices, statuses));
    CHECK_EQ(count, MPI_UNDEFINED);
    OK(MPI_Testsome(COUNT, requests, &count, indices, MPI_STATUSES_IGNORE));
    CHECK_EQ(count, MPI_UNDEFINED);
}

static void all(int tag, int waits)
{
    MPI_Status statuses[COUNT];
    int flag = 1;
    post(tag);
    if (!waits) {
        OK(MPI_Testall(COUNT, requests, &flag, statuses));
        CHECK(!flag);
        OK(MPI_Barrier(MPI_COMM_WORLD));
    }
    send(tag);
    if (waits) {
        OK(MPI_Waitall(COUNT, requests, statuses));
    } else {
        DOING("MPI_Testall until it says yes");
        do
            MPI_Testall(COUNT, requests, &flag, statuses);
        while (!flag);
    }
    for (int i = 0; i < COUNT; i++) {
        CHECK_EQ(statuses[i].MPI_TAG, i % 3 == 2 ? MPI_ANY_TAG : tag + i);
        CHECK_EQ(statuses[i].MPI_SOURCE, i % 3 == 2 ? MPI_ANY_SOURCE : left);
    }
    all_there(tag);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    for (int waits = 0; waits < 2; waits++) {
        any(1000 + waits * 100, waits);
        some(2000 + waits * 100, waits);
        all(3000 + waits * 100, waits);
    }
    OK(MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE));
    return check_end();
}
