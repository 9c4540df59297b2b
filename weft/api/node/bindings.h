// Native functions of the node: modules: their scripts, the process, and files that may be read.
//
// The scripts are not part of the start-up snapshot. Their texts are stored in the library, and
// each is compiled when its module is first imported, so an application that imports none pays
// nothing for them.
#pragma once

#include <span>

#include "weft/js/binding.h"

namespace weft::api {

std::span<const js::Binding> node_bindings();
std::span<const js::Binding> node_file_bindings();

}  // namespace weft::api
