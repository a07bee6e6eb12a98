// The C API of libpng, as it is; used is its simplified part, png_image_*.
#include <png.h>
