"""Where does it begin? Findings of one (step, rank) and their order over all of them."""
