"""Small models of three libraries and of torch alone, compiled by inductor and recorded."""
