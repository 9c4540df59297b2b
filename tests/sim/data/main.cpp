// weft-sim-data: the scenarios of this folder.
#include "tests/sim/data/scenarios.h"
#include "weft/sim/tool.h"

int main(int count, char** words) {
    return weft::sim::run_tool("weft-sim-data", weft::sim::data_scenarios(),
                               {words, words + count});
}
