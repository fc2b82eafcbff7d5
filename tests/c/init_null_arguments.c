/* MPI_Init takes null instead of the program's arguments.
 *
 * ranks: 1 3 */
#include "check.h"

int main(void)
{
    check_begin(NULL, NULL);
    CHECK(check_rank >= 0 && check_rank < check_size);
    return check_end();
}
