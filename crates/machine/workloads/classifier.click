// Classifier of the NetTM paper: see elements/FlowWatcher.c
FromDevice(in) -> FlowWatcher("^(GET|HEAD|POST) /[^ ]* HTTP/1|^HTTP/1.[01] [0-9]+") -> Discard;
