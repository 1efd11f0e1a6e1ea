"""Real bugs of released packages: two releases side by side, the bad one as the problem."""
