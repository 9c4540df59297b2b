// The response to /json/protocol: the domains of the DevTools protocol that V8 implements, with the
// names of their commands and events. Clients such as chrome-remote-interface generate functions
// from it. Parameters are not described here, but in the protocol's own documents.
#pragma once

#include <string>

namespace weft::app {

std::string debug_protocol();

}  // namespace weft::app
