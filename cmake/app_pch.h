// What the sources of app/ include, parsed once: the reader and writer of JSON above all.
#pragma once

#include <nlohmann/json.hpp>

#include "pch.h"
