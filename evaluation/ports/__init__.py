"""One model written twice: sound ports and faulty ones, and where the fault of each begins."""
