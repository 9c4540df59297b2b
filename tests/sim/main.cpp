// weft-sim-http: the scenarios of this folder.
#include "tests/sim/scenarios.h"
#include "weft/sim/tool.h"

int main(int count, char** words) {
    return weft::sim::run_tool("weft-sim-http", weft::sim::http_scenarios(),
                               {words, words + count});
}
