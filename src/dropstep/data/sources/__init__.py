"""What is found in blocks of rows, and the sample that is made of it."""
