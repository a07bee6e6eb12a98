// The C API of SQLite, as it is.
#include <sqlite3.h>
