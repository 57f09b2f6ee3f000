# Man pages and pages.
