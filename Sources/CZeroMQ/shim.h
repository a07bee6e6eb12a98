// The C API of libzmq, as it is.
#include <zmq.h>
