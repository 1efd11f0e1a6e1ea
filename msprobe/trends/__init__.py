"""Trends in other formats: tables, TensorBoard, and the files of mindstudio-probe's monitor."""
