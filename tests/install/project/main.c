// The same for somebody who writes C.
#include <stdio.h>
#include <weft/c/weft.h>

static int multiply(weft_context* context, void* argument) {
    (void)context;
    int* factors = argument;
    return factors[0] * factors[1];
}

int main(void) {
    int factors[] = {6, 7}, outcome = 0;
    int status = weft_run(multiply, factors, &outcome);
    printf("outside, in C: %s, %d\n", weft_status_text(status), outcome);
    return status == WEFT_OK && outcome == 42 ? 0 : 1;
}
