#include <stdio.h>

int main(void) {
    long long n, x, sum = 0, most = 0;
    scanf("%lld", &n);
    for (long long i = 0; i < n && scanf("%lld", &x) == 1; i++) {
        sum += x;
        if (i == 0 || x > most) most = x;
    }
    printf("%lld %lld\n", sum, most);
    return 0;
}
