"""What a comparison means by documented rules: verdict, overflow level, rules of users."""
