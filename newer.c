#include <stdlib.h>
int main(void) { return arc4random() == 0; }
