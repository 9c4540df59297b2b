# weft_timing(<program> <Suite.case> <reason>): a case that measures time by the clock of the wall,
# so that another program on the machine can make it fail. Each is a test of its own,
# <run>.<Suite.case>, labelled `timing`: scripts/check tries only these a second time. At most 15,
# each with the reason why its promise cannot be told without a clock; a test that is wrong about
# time is mended instead.
set(WEFT_TIMING_MAX 15)
function(weft_timing program case reason)
    get_property(count GLOBAL PROPERTY weft_timing_count)
    math(EXPR count "0${count} + 1")
    if(count GREATER WEFT_TIMING_MAX OR reason STREQUAL "")
        message(FATAL_ERROR "weft_timing: at most ${WEFT_TIMING_MAX} cases, each with its reason")
    endif()
    set_property(GLOBAL PROPERTY weft_timing_count ${count})
    set_property(GLOBAL APPEND PROPERTY weft_timing_${program} ${case})
endfunction()

foreach(case
        a_spinning_fiber_does_not_delay_the_timers_of_its_worker
        nor_when_the_runtime_was_idle_for_long_before
        nor_among_many_workers
        nor_when_the_one_that_looked_after_it_gets_work_of_its_own
        a_spinning_fiber_does_not_delay_a_fiber_that_it_has_woken_or_spawned
        a_spinning_detached_fiber_does_not_delay_the_end_of_run)
    weft_timing(weft_fiber_test Scheduler.FIB_6b_${case}
                "promises milliseconds while another worker is idle, which needs an idle cpu")
endforeach()
weft_timing(weft_fiber_test Scheduler.FIB_6a_a_spinning_fiber_does_not_delay_the_io_of_its_worker
            "promises milliseconds while another worker is idle, which needs an idle cpu")
weft_timing(weft_fiber_test
            Timer.RCT_3c_a_sleep_is_at_most_a_millisecond_late_on_an_idle_machine
            "promises a millisecond on an idle machine")
weft_timing(weft_fiber_test
            MemoryReturnDeathTest.FIB_4i_what_a_burst_of_fibers_needed_goes_back_within_ten_seconds
            "promises ten seconds of the wall")
weft_timing(weft_sync_test Channel.FIB_13c_SYN_4_a_million_round_trips_take_less_than_a_second
            "promises a second of a cpu that has its cache and its clock rate to itself")
