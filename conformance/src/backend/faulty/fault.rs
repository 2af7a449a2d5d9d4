use std::fmt;

macro_rules! faults {
    ($($fault:ident $case:literal $what:literal;)*) => {
        /// A way to be wrong.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[expect(missing_docs, reason = "each is told by what_is_wrong")]
        pub enum Fault {
            $($fault,)*
        }

        impl Fault {
            /// All of them, in the order of the cases.
            pub const ALL: &[Self] = &[$(Self::$fault,)*];

            /// The case that must catch it.
            #[must_use]
            pub fn case(self) -> &'static str {
                match self {
                    $(Self::$fault => $case,)*
                }
            }

            /// What is wrong, in one sentence.
            #[must_use]
            pub fn what_is_wrong(self) -> &'static str {
                match self {
                    $(Self::$fault => $what,)*
                }
            }
        }
    };
}

faults! {
    CreatorForgotten "create.what_is_made_is_what_was_asked_for" "discover tells another creator";
    LettersLost "create.identities_are_kept_whole" "a session loses the letters that are not ASCII";
    TakenIsReturned "create.a_taken_name_is_a_conflict" "create returns the instance that has the name already";
    CreateLooksThenMakes "create.of_many_at_once_one_is_made" "create looks whether the name is free, and makes it later";
    InstanceIsTheName "create.every_instance_is_a_new_one" "the instance id is made of the sandbox's name";
    DroppedCreateKeepsTheName "create.a_dropped_one_is_found" "a create that is given up leaves its name reserved";
    LostCreateWasNone "create.a_lost_reply_leaves_what_is_found" "a lost answer of create says that nothing was changed";
    NoneIsAnError "discover.what_is_not_there_is_none" "discover of an id that nobody has is an error";
    EndedRuns "discover.one_that_ended_is_not_running" "an instance that ended is shown as Running";
    PausedRuns "discover.one_that_is_paused_is_not_running" "a paused instance is shown as Running";
    PausedHasEnded "discover.one_that_is_paused_is_not_running" "a paused instance is shown as Ended";
    UnreadableIsNone "discover.what_can_not_be_read_is_unknown" "discover says None of what can't be read";
    UnreadableIsHidden "discover.what_can_not_be_read_is_unknown" "list leaves out what can't be read";
    CondemnedIsNotListed "list.has_all_of_the_namespace" "list leaves condemned instances out";
    ListedTwice "list.has_all_of_the_namespace" "list has an instance twice";
    NameBeginsAlike "names.neighbours_are_told_apart" "discover takes a name for another that begins alike";
    CaseIsIgnored "names.neighbours_are_told_apart" "discover doesn't tell capitals";
    NamespaceBeginsAlike "names.other_namespaces_are_invisible" "list has namespaces that begin alike";
    ForeignIsDestroyed "names.an_instance_of_another_namespace_is_left_alone" "destroy does not look whose an instance is";
    ForeignIsGone "names.an_instance_of_another_namespace_is_left_alone" "inspect says Gone of another namespace's instance";
    HalfAnIdWillDo "names.what_is_no_instance_touches_none" "destroy takes the beginning of an instance id for the whole";
    ANameWillDo "names.what_is_no_instance_touches_none" "condemn takes a sandbox's name for an instance";
    ForeignIsReplaced "names.a_foreign_thing_is_left_alone" "create removes what somebody else has under the name";
    CondemnedIsDiscovered "condemn.it_loses_its_name_and_runs_on" "discover finds condemned instances";
    CondemnStops "condemn.it_loses_its_name_and_runs_on" "condemn ends the instance";
    CondemnIsForgotten "condemn.it_loses_its_name_and_runs_on" "condemn changes nothing";
    CondemnGoesByName "condemn.the_name_is_free" "condemn takes the name from whoever has it";
    CondemnedIsRefused "condemn.twice_is_harmless" "condemning again is an error";
    CondemnOfGoneFails "condemn.of_a_gone_one_is_gone" "condemning what is gone is an error";
    LostCondemnWasNone "condemn.a_lost_reply_converges" "a lost answer of condemn says that nothing was changed";
    RemainsStay "destroy.all_of_it_goes" "destroy ends the instance and leaves what is left of it";
    DestroyOfGoneFails "destroy.twice_is_harmless" "destroying what is gone is an error";
    DestroyGoesByName "destroy.goes_by_instance" "destroy removes whoever has the name too";
    EndedIsNotDestroyed "destroy.of_one_that_ended_removes_it" "destroy of an instance that ended is an error";
    StopsCollide "destroy.by_many_at_once_is_harmless" "a destroy beside another is an error";
    DroppedDestroyBlocks "destroy.a_dropped_one_converges" "a destroy that is given up keeps all others out";
    LostDestroyWasNone "destroy.a_lost_reply_converges" "a lost answer of destroy says that nothing was changed";
    EndpointIsOld "ready.it_is_usable" "wait_ready tells another endpoint than the instance has";
    NotReadyIsReady "ready.not_in_time_is_not_ready" "wait_ready returns what is not ready once its patience is over";
    LastWordsAreKept "ready.one_that_ended_says_its_last_words" "wait_ready does not tell what the sandbox said last";
    EndedIsWaitedFor "ready.one_that_ended_says_its_last_words" "wait_ready waits for what has ended";
    GoneIsWaitedFor "ready.of_a_gone_one_is_missing" "wait_ready waits for what is gone";
    StreamsAreOne "exec.both_streams_and_the_code_are_told" "both streams come as one";
    CodeIsLost "exec.both_streams_and_the_code_are_told" "every exit code is 1 or 0";
    EndIsToldOnce "exec.both_streams_and_the_code_are_told" "asking again after the end is an error";
    SignalIsSuccess "exec.a_signal_is_no_success" "the end by a signal is code 0";
    InputIsCut "exec.it_reads_its_input_to_the_end" "only as much input as a pipe holds arrives";
    VariablesAreLost "exec.it_has_its_variables" "the command's own variables are lost";
    OutputComesAtTheEnd "exec.output_is_told_while_it_runs" "output is told once the command has ended";
    OutputIsCut "exec.more_than_a_pipe_holds_comes_whole" "output above a megabyte is dropped";
    OutputIsHoarded "exec.output_nobody_reads_waits" "output is kept without bound";
    DroppedWaitLoses "exec.a_dropped_wait_loses_nothing" "what a dropped future of next had read is lost";
    TimeIsNotKept "exec.one_over_its_time_is_killed" "a command's time is not looked at";
    TimedOutIsKilled "exec.one_over_its_time_is_killed" "a command over its time is told as Killed";
    KillIsASignal "exec.a_killed_one_says_so" "a kill that was asked for is told as a signal";
    KillAgainFails "exec.a_killed_one_says_so" "killing what has ended is an error";
    DroppedRunsOn "exec.a_dropped_one_is_killed" "a command that is dropped runs on";
    StoppedIsSuccess "exec.it_ends_with_its_sandbox" "a command whose sandbox is destroyed ends with code 0";
    NoProgramIsSuccess "exec.of_a_program_that_is_not_there_is_no_success" "a program that is not there ends with code 0";
    GoneIsUnavailable "exec.in_a_gone_one_is_missing" "exec in what is gone says that the engine did not answer";
    MountsAreLost "exec.a_mounted_directory_is_seen" "mounts are left out";
    EngineIdChanges "engine.handles_agree_on_what_they_are" "the engine's id is made up at each question";
    OutageIsEmpty "engine.an_outage_is_an_error" "list is empty while the engine is down";
    OutageIsNone "engine.an_outage_is_an_error" "discover says None while the engine is down";
    OutageIsGone "engine.an_outage_is_an_error" "inspect says Gone while the engine is down";
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}: {}", self.what_is_wrong())
    }
}
