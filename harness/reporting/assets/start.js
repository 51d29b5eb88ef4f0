goTo(fromAddress().place);
