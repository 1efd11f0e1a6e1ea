"""Reading dumps: which (step, rank) directories there are and what their files hold."""
