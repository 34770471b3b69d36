{{/* How long a pod may take to stop. */}}

{{/* A duration as the program reads it (`30 s`, `2 min`, 500), in whole seconds, rounded up. */}}
{{- define "lookaside.seconds" -}}
{{- $text := toString . | trim | lower -}}
{{- $number := regexFind "^[0-9]+" $text | int64 -}}
{{- $unit := regexReplaceAll "^[0-9]+" $text "" | trim -}}
{{- if has $unit (list "d" "day" "days") -}}{{ mul $number 86400 }}
{{- else if has $unit (list "h" "hour" "hours") -}}{{ mul $number 3600 }}
{{- else if has $unit (list "m" "min" "minute" "minutes") -}}{{ mul $number 60 }}
{{- else if has $unit (list "s" "sec" "secs" "second" "seconds") -}}{{ $number }}
{{- else if has $unit (list "" "ms" "milli" "millis" "millisecond" "milliseconds") -}}{{ div (add $number 999) 1000 }}
{{- else if has $unit (list "µs" "micro" "micros" "microsecond" "microseconds") -}}{{ div (add $number 999999) 1000000 }}
{{- else -}}{{ div (add $number 999999999) 1000000000 }}
{{- end -}}
{{- end -}}

{{/* After the wait for rows on their way: the last commit, leaving the group (5 s at most), the end of the process. */}}
{{- define "lookaside.shutdownMargin" -}}15{{- end -}}

{{- define "lookaside.gracePeriod" -}}
{{- $needed := add (include "lookaside.seconds" .Values.settings.shutdown.timeout) (include "lookaside.shutdownMargin" .) -}}
{{- $given := .Values.terminationGracePeriodSeconds -}}
{{- if kindIs "invalid" $given -}}
{{- $needed -}}
{{- else if lt (int64 $given) (int64 $needed) -}}
{{- fail (printf "\n\nterminationGracePeriodSeconds is %d, and a stop may take %d seconds: settings.shutdown.timeout (%v) and %s to leave the group.\nLeave it out, raise it, or lower settings.shutdown.timeout.\n" (int64 $given) $needed .Values.settings.shutdown.timeout (include "lookaside.shutdownMargin" .)) -}}
{{- else -}}
{{- int64 $given -}}
{{- end -}}
{{- end -}}
