numbers = []
print(sum(numbers), numbers[0])
