// Hides a call of the kernel from this process and its children, as service managers do.
#ifndef CALL_FILTER_H
#define CALL_FILTER_H

/// clone3(2) answers with this error from now on. Returns 0, or what it answers instead.
int call_filter_hide_clone3(int error);

#endif
