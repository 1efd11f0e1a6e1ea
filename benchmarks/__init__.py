"""What is measured, with the generator of the large dumps it is measured on."""
