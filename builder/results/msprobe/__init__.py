"""Result files that msprobe's own builder wrote, behind the same questions as ours."""
