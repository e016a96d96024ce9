// short.click: a configuration with a parameter, and a class of elements in the folder beside it (abi.c)

define($LENGTH 3);

FromDevice(in) -> ShortOnly($LENGTH) -> ToDevice(out);
