"""What values are over tensor-parallel ranks: whole, a shard or a part of a sum; conflicts."""
