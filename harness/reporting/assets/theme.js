"use strict";
// Runs before the page is drawn, so that a remembered theme does not flash. Storage may be forbidden: then nothing is remembered.
try { const theme = localStorage.getItem("marginbench-theme"); if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme; } catch { /* not remembered */ }
