// What the node: modules need: their scripts, the process, files that may be read.
//
// The scripts are no part of the start-up snapshot. Their texts lie in the library as they are, and
// one is compiled when its module is first imported, so an application that imports none pays
// nothing for them.
#pragma once

#include <span>

#include "weft/js/binding.h"

namespace weft::api {

std::span<const js::Binding> node_bindings();
std::span<const js::Binding> node_file_bindings();

}  // namespace weft::api
