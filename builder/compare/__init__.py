"""How far apart matched values are: measures, scores, and what is rounding."""
