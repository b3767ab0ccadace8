n, *numbers = map(int, open(0).read().split())
print(sum(numbers), max(numbers))
