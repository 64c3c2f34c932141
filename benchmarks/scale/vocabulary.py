"""The words that synthetic tools are made of: what a platform of many internal services might offer."""

from __future__ import annotations

DOMAINS = {
    name: words.split()
    for name, words in (
        line.split(": ")
        for line in """\
billing: invoice receipt refund discount subscription charge dunning statement credit surcharge ledger payout
shipping: parcel label carrier route pallet container waybill pickup dropoff customs freight manifest
calendar: meeting reminder attendee room agenda holiday timezone invitation recurrence slot deadline booking
mailing: message mailbox attachment template campaign bounce signature newsletter thread recipient spamfilter digest
payroll: salary payslip bonus deduction overtime pension garnishment allowance timesheet withholding raise commission
recruiting: candidate interview vacancy offer resume referral scorecard assessment pipeline onboarding screening talent
weather: forecast rainfall windspeed humidity storm sunrise pollen snowfall temperature visibility tide lightning
mapping: address geocode distance isochrone landmark boundary elevation postcode district parking crossing waypoint
telephony: call voicemail extension transcript ringtone conference queue dialplan callback greeting recording handset
security: password certificate firewall vulnerability incident permission token audit breach intrusion quarantine patch
storage: bucket folder snapshot archive replica quota checksum volume retention lifecycle upload lockfile
compute: instance cluster image autoscaler keypair hypervisor kernel scheduler node worker placement reservation
databases: table index query migration backup schema partition trigger cursor tablespace vacuum rowcount
monitoring: alert dashboard metric logline probe heartbeat threshold outage trace anomaly escalation uptime
marketing: audience banner keyword landingpage conversion segment coupon impression persona funnel hashtag sponsor
sales: lead opportunity quote contract territory prospect forecastline account upsell renewal demo proposal
support: ticket complaint macro satisfaction resolution escalationpath article feedback chat warranty callout survey
inventory: product warehouse shelf stocktake barcode batch supplier reorder shortage bundle variant expiry
manufacturing: workorder machine defect toolpath assembly spindle inspection downtime furnace mould blueprint torque
energy: meter tariff turbine battery gridload emission solarpanel substation consumption transformer charger boiler
clinic: patient appointment prescription diagnosis allergy vaccine labresult ward referralletter dosage symptom vitals
insurance: policy claim tariffrate deductible adjuster beneficiary coverage actuary rider loss underwriter reinsurer
banking: transfer overdraft mortgage standingorder iban cheque deposit withdrawal loan interest chequebook direct
trading: order position portfolio margin option dividend shareprice hedge broker settlement watchlist bond
travel: flight hotel itinerary luggage visa boardingpass seat layover passenger cruise excursion lounge
restaurants: menu reservationdesk recipe ingredient waiter allergen kitchen tip takeaway cuisine tasting cellar
education: course lesson grade enrolment syllabus exam lecturer scholarship homework campus diploma tutor
libraries: book loanperiod shelfmark author fine catalogue periodical edition borrower microfilm abstract citation
sports: match league score fixture referee stadium transferfee ranking athlete medal injury substitution
music: song playlist album artist lyric concert tempo chord royalty remix podcast instrument
legal: court lawsuit clause trademark patent notary testimony verdict appeal filing attorney statute
agriculture: crop harvest irrigation livestock fertiliser seed tractor soil pesticide orchard greenhouse fodder
""".splitlines()
    )
}

VERBS = {
    "GET": "return one",
    "LIST": "list",
    "FIND": "search for",
    "COUNT": "count",
    "CREATE": "create",
    "UPDATE": "change",
    "CANCEL": "cancel",
    "APPROVE": "approve",
    "EXPORT": "download",
    "COMPARE": "compare",
    "VALIDATE": "check",
    "ESTIMATE": "estimate",
    "ASSIGN": "hand over",
    "ARCHIVE": "put away",
    "RANK": "order by importance",
    "EXPLAIN": "explain",
}

QUALITIES = (
    *("open", "overdue", "recent", "duplicate", "disputed", "pending", "international", "urgent", "draft"),
    *("seasonal", "wholesale", "regional", "recurring", "expired", "incoming", "unpaid", "shared", "historical"),
)

PARAMETERS = {
    "customer": ("string", "Who it is for: the customer's number.", "C-10482"),
    "from_date": ("string", "First day to include, as year, month and day.", "2026-01-31"),
    "to_date": ("string", "Last day to include, as year, month and day.", "2026-02-28"),
    "status": ("string", "Only those in this state.", "active"),
    "country": ("string", "Two letters of the country.", "NO"),
    "limit": ("integer", "Most entries to return.", 25),
    "page": ("integer", "Page of the answer, from 1.", 2),
    "currency": ("string", "Three letters of the currency for amounts.", "EUR"),
    "owner": ("string", "Person in charge, by mail address.", "kim@example.org"),
    "include_notes": ("boolean", "Whether remarks of colleagues come with each entry.", True),
    "sort": ("string", "Field by which entries are ordered.", "created"),
    "reason": ("string", "Why this is done; kept in the history.", "asked by phone"),
}

ASKS = (
    "{phrase} {quality} {noun}",
    "which {noun} entries are {quality}",
    "I need every {quality} {noun} for my {domain} report",
    "show {noun} {domain} {quality} this month",
    "can you {phrase} the {noun} that is {quality}",
    "{quality} {noun} overview",
)

DETAILS = (
    "Amounts are in the account's own currency.",
    "Entries that were removed are left out.",
    "Times are in UTC and end with the day.",
    "Nothing is sent to anybody outside the team.",
    "A second call within a minute gives the same answer.",
    "Large answers come in pages of one hundred entries.",
    "Those without an owner come last.",
    "Needs the role of a clerk or above.",
)
