//! The one table of all cases for backends: it makes the list, and one `#[test]` a case for whoever proves a backend.
//!
//! A row is the test's name, the case's id (what it is about, a dot, the same words), the rule in one sentence, in brackets
//! what the case can't do without, and the function that proves it. The files beside this one have those functions.

mod condemn;
mod create;
mod destroy;
mod engine;
mod exec;
mod looks;
mod names;
mod ready;

use leasehold::BackendError;
use leasehold::BackendOperation::{Condemn, Create, Destroy};

use super::BackendCase;
use super::BackendNeed::{
    Ending, Foreign, Kill, LostReply, NeverReady, Outage, Pause, SharedDirectory, Shell, Unreadable,
};

/// Whether the answer is this value, which an error never is.
fn says<T: PartialEq>(answer: &Result<T, BackendError>, value: &T) -> bool {
    answer.as_ref().is_ok_and(|said| said == value)
}

macro_rules! cases {
    ($d:tt $(
        $name:ident $id:literal $rule:literal $([$($need:expr),*])? => $proof:path;
    )*) => {
        /// Every case for backends.
        pub const CASES: &[BackendCase] = &[
            $(BackendCase {
                id: $id,
                test: stringify!($name),
                rule: $rule,
                since: "1.0",
                needs: &[$($($need),*)?],
                proof: |kit| Box::pin($proof(kit)),
            },)*
        ];

        /// One `#[test]` for each case of the kit for backends, on a backend of one's own.
        ///
        /// ```ignore
        /// leasehold_conformance::backend_suite!(MyHarness);
        /// ```
        ///
        /// The harness has to be `Default`. Tests run side by side, each on a site of its own. What is not applicable or not
        /// run says so on standard error and passes, unless `LEASEHOLD_REQUIRE` names it.
        #[macro_export]
        macro_rules! backend_suite {
            ($d harness:ty) => {
                $(
                    #[test]
                    fn $name() {
                        let harness = <$d harness as ::std::default::Default>::default();
                        $crate::backend::prove_case(harness, $id, env!("CARGO_PKG_NAME"));
                    }
                )*

                #[test]
                fn waivers_are_in_order() {
                    $crate::backend::prove_waivers(<$d harness as ::std::default::Default>::default());
                }
            };
        }
    };
}

cases! { $
    create_what_is_made_is_what_was_asked_for "create.what_is_made_is_what_was_asked_for" "create, discover, inspect and list agree on what was made, identity and creator in full, for every handle"
        => create::what_is_made_is_what_was_asked_for;
    create_identities_are_kept_whole "create.identities_are_kept_whole" "whatever a session and a policy are called is read back as it was written"
        => create::identities_are_kept_whole;
    create_a_taken_name_is_a_conflict "create.a_taken_name_is_a_conflict" "create under a name that an instance has is Conflict, for every handle, and changes nothing"
        => create::a_taken_name_is_a_conflict;
    create_of_many_at_once_one_is_made "create.of_many_at_once_one_is_made" "of many who create one id at once one makes it and the others see Conflict"
        => create::of_many_at_once_one_is_made;
    create_every_instance_is_a_new_one "create.every_instance_is_a_new_one" "an instance id is never used again, so the next sandbox of an id is told from the last"
        => create::every_instance_is_a_new_one;
    create_a_dropped_one_is_found "create.a_dropped_one_is_found" "a create whose future was dropped leaves nothing that discover and list don't show and destroy doesn't remove"
        => create::a_dropped_one_is_found;
    create_a_lost_reply_leaves_what_is_found "create.a_lost_reply_leaves_what_is_found" "a create whose answer was lost says that it may have happened, and what it made is found" [LostReply(Create)]
        => create::a_lost_reply_leaves_what_is_found;
    discover_what_is_not_there_is_none "discover.what_is_not_there_is_none" "discover of an id that nobody has is None, a value and no error, and a list of nothing is empty"
        => looks::what_is_not_there_is_none;
    discover_one_that_ended_is_not_running "discover.one_that_ended_is_not_running" "an instance whose processes ended is Ended or gone, and never Running" [Kill]
        => looks::one_that_ended_is_not_running;
    discover_one_that_is_paused_is_not_running "discover.one_that_is_paused_is_not_running" "a paused instance is Stopped: neither usable nor ended nor gone" [Pause]
        => looks::one_that_is_paused_is_not_running;
    discover_what_can_not_be_read_is_unknown "discover.what_can_not_be_read_is_unknown" "an instance that can't be read is an error to discover and a row of unreadable beside the others" [Unreadable]
        => looks::what_can_not_be_read_is_unknown;
    list_has_all_of_the_namespace "list.has_all_of_the_namespace" "list has every instance of the namespace once, condemned ones too, as inspect shows them"
        => looks::list_has_all_of_the_namespace;
    names_neighbours_are_told_apart "names.neighbours_are_told_apart" "ids that are the beginning of one another, or differ in case, are different sandboxes"
        => names::neighbours_are_told_apart;
    names_other_namespaces_are_invisible "names.other_namespaces_are_invisible" "namespaces x and x-y see nothing of one another, not even under one id"
        => names::other_namespaces_are_invisible;
    names_an_instance_of_another_namespace_is_left_alone "names.an_instance_of_another_namespace_is_left_alone" "an instance of another namespace is an error to every call and is left as it is"
        => names::an_instance_of_another_namespace_is_left_alone;
    names_what_is_no_instance_touches_none "names.what_is_no_instance_touches_none" "a text that is no instance's id, be it a sandbox's name or the half of an id, touches nothing"
        => names::what_is_no_instance_touches_none;
    names_a_foreign_thing_is_left_alone "names.a_foreign_thing_is_left_alone" "something of somebody else under the name is Foreign to create, not found and left alone" [Foreign]
        => names::a_foreign_thing_is_left_alone;
    condemn_it_loses_its_name_and_runs_on "condemn.it_loses_its_name_and_runs_on" "a condemned instance is not discovered by anybody, runs on and is shown as condemned"
        => condemn::it_loses_its_name_and_runs_on;
    condemn_the_name_is_free "condemn.the_name_is_free" "the name of a condemned instance is free, and condemning it again leaves the next one its name"
        => condemn::the_name_is_free;
    condemn_twice_is_harmless "condemn.twice_is_harmless" "condemning what is condemned is Condemned"
        => condemn::twice_is_harmless;
    condemn_of_a_gone_one_is_gone "condemn.of_a_gone_one_is_gone" "condemning what is gone is Gone, a value and no error"
        => condemn::of_a_gone_one_is_gone;
    condemn_a_lost_reply_converges "condemn.a_lost_reply_converges" "a condemn whose answer was lost says that it may have happened, and again it is Condemned" [LostReply(Condemn)]
        => condemn::a_lost_reply_converges;
    destroy_all_of_it_goes "destroy.all_of_it_goes" "after Destroyed the instance is Gone to every handle, its name is free and nothing is listed"
        => destroy::all_of_it_goes;
    destroy_twice_is_harmless "destroy.twice_is_harmless" "destroying what is gone is AlreadyGone, a success"
        => destroy::twice_is_harmless;
    destroy_goes_by_instance "destroy.goes_by_instance" "destroying an instance leaves the one alone that has its name now"
        => destroy::goes_by_instance;
    destroy_of_one_that_ended_removes_it "destroy.of_one_that_ended_removes_it" "what is left of an instance whose processes ended is removed" [Kill]
        => destroy::of_one_that_ended_removes_it;
    destroy_by_many_at_once_is_harmless "destroy.by_many_at_once_is_harmless" "of many who destroy one instance at once each succeeds, and it is gone"
        => destroy::by_many_at_once_is_harmless;
    destroy_a_dropped_one_converges "destroy.a_dropped_one_converges" "a destroy whose future was dropped is brought to its end by the next"
        => destroy::a_dropped_one_converges;
    destroy_a_lost_reply_converges "destroy.a_lost_reply_converges" "a destroy whose answer was lost says that it may have happened, and the next finds it gone" [LostReply(Destroy)]
        => destroy::a_lost_reply_converges;
    ready_it_is_usable "ready.it_is_usable" "wait_ready returns the very instance, usable, with the endpoint that inspect shows too"
        => ready::it_is_usable;
    ready_not_in_time_is_not_ready "ready.not_in_time_is_not_ready" "wait_ready is NotReady once its patience is over, and the instance exists" [NeverReady]
        => ready::not_in_time_is_not_ready;
    ready_one_that_ended_says_its_last_words "ready.one_that_ended_says_its_last_words" "wait_ready of one that ends is Exited at once, with the last it said" [Ending]
        => ready::one_that_ended_says_its_last_words;
    ready_of_a_gone_one_is_missing "ready.of_a_gone_one_is_missing" "wait_ready of an instance that is gone is Missing at once"
        => ready::of_a_gone_one_is_missing;
    exec_both_streams_and_the_code_are_told "exec.both_streams_and_the_code_are_told" "output comes on its own stream, and the exit code as it is, again and again" [Shell]
        => exec::both_streams_and_the_code_are_told;
    exec_a_signal_is_no_success "exec.a_signal_is_no_success" "a command that a signal ended is told as that signal, by its number or as a shell counts it" [Shell]
        => exec::a_signal_is_no_success;
    exec_it_reads_its_input_to_the_end "exec.it_reads_its_input_to_the_end" "a command reads all of its input and then its end, and without input its end at once" [Shell]
        => exec::it_reads_its_input_to_the_end;
    exec_it_has_its_variables "exec.it_has_its_variables" "a command has the sandbox's variables, and its own before those" [Shell]
        => exec::it_has_its_variables;
    exec_output_is_told_while_it_runs "exec.output_is_told_while_it_runs" "what a command says is told while it runs" [Shell]
        => exec::output_is_told_while_it_runs;
    exec_more_than_a_pipe_holds_comes_whole "exec.more_than_a_pipe_holds_comes_whole" "megabytes of output come whole" [Shell]
        => exec::more_than_a_pipe_holds_comes_whole;
    exec_output_nobody_reads_waits "exec.output_nobody_reads_waits" "a command whose output nobody reads waits rather than being kept without bound" [Shell]
        => exec::output_nobody_reads_waits;
    exec_a_dropped_wait_loses_nothing "exec.a_dropped_wait_loses_nothing" "a future of next that was dropped loses nothing that was said" [Shell]
        => exec::a_dropped_wait_loses_nothing;
    exec_one_over_its_time_is_killed "exec.one_over_its_time_is_killed" "a command over its time is TimedOut and does not run on" [Shell]
        => exec::one_over_its_time_is_killed;
    exec_a_killed_one_says_so "exec.a_killed_one_says_so" "a command that was killed is Killed and does not run on; killing it again, or one that has ended, is harmless" [Shell]
        => exec::a_killed_one_says_so;
    exec_a_dropped_one_is_killed "exec.a_dropped_one_is_killed" "a command that nobody looks after any more does not run on" [Shell]
        => exec::a_dropped_one_is_killed;
    exec_it_ends_with_its_sandbox "exec.it_ends_with_its_sandbox" "a command in a sandbox that is destroyed ends, and not as a success" [Shell]
        => exec::it_ends_with_its_sandbox;
    exec_of_a_program_that_is_not_there_is_no_success "exec.of_a_program_that_is_not_there_is_no_success" "a program that is not there is an error or a code other than 0"
        => exec::of_a_program_that_is_not_there_is_no_success;
    exec_in_a_gone_one_is_missing "exec.in_a_gone_one_is_missing" "exec in an instance that is gone is Missing"
        => exec::in_a_gone_one_is_missing;
    exec_a_mounted_directory_is_seen "exec.a_mounted_directory_is_seen" "a directory of the host is seen where it is mounted, and what is written there is seen outside" [Shell, SharedDirectory]
        => exec::a_mounted_directory_is_seen;
    engine_handles_agree_on_what_they_are "engine.handles_agree_on_what_they_are" "all handles of an engine tell one engine id, which stays, and their kind and namespace"
        => engine::handles_agree_on_what_they_are;
    engine_an_outage_is_an_error "engine.an_outage_is_an_error" "while the engine can't be reached every call is an error, never gone, None or empty, and afterwards all is as before" [Outage]
        => engine::an_outage_is_an_error;
}
