"""What every part of the package needs: errors, files, arrays, JSON, seeds, progress."""
