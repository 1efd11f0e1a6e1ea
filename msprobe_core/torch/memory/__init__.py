"""Who wrote a tensor's memory, and what is known of what lies in it."""
