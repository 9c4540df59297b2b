// For what needs more stack than a fiber or a simulated thread may have, such as reading debug
// information: calls it here on a plain thread, elsewhere on a new one, which is waited for. False
// when there was no such thread to be had.
#pragma once

namespace weft {

bool call_on_plain_thread(void (*function)(void* argument), void* argument);

}  // namespace weft
