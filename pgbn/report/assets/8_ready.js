// All parts are drawn.
document.documentElement.dataset.ready = "yes";
