// The C API of OpenSSL's libcrypto, as it is; used is its SHA-256.
#include <openssl/evp.h>
