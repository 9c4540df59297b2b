// What /json/protocol answers: the domains of the DevTools protocol that V8 speaks, with the names
// of their commands and events. Clients such as chrome-remote-interface make their functions of it.
// The names are V8's; what their parameters are is left to the protocol's own documents.
#pragma once

#include <string>

namespace weft::app {

std::string debug_protocol();

}  // namespace weft::app
