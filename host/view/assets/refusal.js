// Why there is nothing to see: the words are in the page.

chooseTheme();
document.documentElement.dataset.ready = "";
