#include <algorithm>
#include <iostream>
#include <iterator>
#include <numeric>
#include <vector>

int main() {
    int n;
    std::cin >> n;
    std::vector<long long> v{std::istream_iterator<long long>(std::cin), {}};
    std::cout << std::accumulate(v.begin(), v.end(), 0LL) << ' '
              << *std::max_element(v.begin(), v.end()) << '\n';
}
